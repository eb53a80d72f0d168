import { mount } from 'svelte';
import { root } from '../../src/lib/root';
import '../../src/styles/tokens.css';
import '../../src/styles/base.css';
import Gallery from './gallery/Gallery.svelte';
import { keepStill } from './gallery/still';

keepStill();
mount(Gallery, { target: root(), props: { address: new URLSearchParams(location.search) } });
