import { mount } from 'svelte';
import { root } from '../../src/lib/root';
import MainPage from '../../src/pages/MainPage.svelte';
import '../../src/styles/tokens.css';
import '../../src/styles/base.css';
import { startMock } from './start';

const first = new URLSearchParams(location.search);
mount(MainPage, { target: root(), props: { backend: startMock(), first } });
