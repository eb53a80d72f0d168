import { mount } from 'svelte';
import { root } from '../../src/lib/root';
import PromptPage from '../../src/pages/PromptPage.svelte';
import '../../src/styles/tokens.css';
import '../../src/styles/base.css';
import { startMock } from './start';

const first = new URLSearchParams(location.search).get('card');
mount(PromptPage, { target: root(), props: { backend: startMock(), first } });
