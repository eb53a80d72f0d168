import { svelte } from '@sveltejs/vite-plugin-svelte';
import { fileURLToPath } from 'node:url';
import icons from 'unplugin-icons/vite';
import { defineConfig } from 'vitest/config';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/**
 * Icons become markup when the page is built. Components that put them together as they are shown took a third of the
 * time until a prompt could be read.
 */
const lucide = icons({
  compiler: {
    extension: 'svelte',
    compiler: (svg) => `<script>
      let { size = 24, class: extra = '', 'aria-label': label } = $props();
    </script>
    <svg class={['lucide', extra]} width={size} height={size} viewBox="0 0 24 24" aria-hidden={label ? undefined : 'true'} aria-label={label} role={label ? 'img' : undefined}>${drawing(svg)}</svg>`,
  },
});

/** What is drawn, with strokes of the width that the design asks for. */
function drawing(svg: string): string {
  return svg.replace(/^<svg[^>]*>|<\/svg>$/g, '').replaceAll('stroke-width="2"', 'stroke-width="1.75"');
}

// `--mode mock` builds the same pages on a backend made for tests; nothing of it is reachable from the
// product's entries.
export default defineConfig(({ mode }) => {
  const mock = mode === 'mock';
  const folder = mock ? 'tests/mock/' : '';
  const pages = mock ? ['index', 'prompt', 'gallery'] : ['index', 'prompt'];
  return {
    root: here(mock ? 'tests/mock' : '.'),
    base: './',
    plugins: [lucide, svelte({ configFile: here('svelte.config.js') })],
    // What is on these pages is nobody else's business, and Vite serves no file above its root by itself.
    server: mock ? { host: '127.0.0.1', fs: { allow: [here('.')] } } : {},
    resolve: mode === 'test' ? { conditions: ['browser'] } : {},
    build: {
      outDir: mock ? here('test-results/mock') : here('dist'),
      emptyOutDir: true,
      // WebKitGTK 2.44 and later.
      target: ['es2022', 'safari17.4'],
      // The content security policy allows neither inline nor data: resources.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      rolldownOptions: {
        input: Object.fromEntries(
          pages.map((page) => [page === 'index' ? 'main' : page, here(`${folder}${page}.html`)]),
        ),
      },
    },
    test: {
      root: here('.'),
      environment: 'jsdom',
      include: ['tests/unit/**/*.test.ts'],
      restoreMocks: true,
      // As long as a test waits for anything: that says that it fails, and never how fast the machine is.
      testTimeout: 120_000,
    },
  };
});
