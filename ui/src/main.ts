import { mount } from 'svelte';
import { tauriBackend } from './lib/ipc/tauri';
import { root } from './lib/root';
import MainPage from './pages/MainPage.svelte';
import './styles/tokens.css';
import './styles/base.css';

mount(MainPage, {
  target: root(),
  props: { backend: tauriBackend('main'), first: new URLSearchParams(location.search) },
});
