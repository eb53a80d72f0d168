import { mount } from 'svelte';
import { tauriBackend } from './lib/ipc/tauri';
import { root } from './lib/root';
import PromptPage from './pages/PromptPage.svelte';
import './styles/tokens.css';
import './styles/base.css';

const first = new URLSearchParams(location.search).get('card');
mount(PromptPage, { target: root(), props: { backend: tauriBackend('prompt'), first } });
