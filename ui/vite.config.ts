import { svelte } from '@sveltejs/vite-plugin-svelte';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

// `--mode mock` builds the same pages on a backend made for tests; nothing of it is reachable from the product's entries.
export default defineConfig(({ mode }) => {
  const mock = mode === 'mock';
  const root = mock ? here('tests/mock') : here('.');
  return {
    root,
    base: './',
    plugins: [svelte({ configFile: here('svelte.config.js') })],
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
        input: mock
          ? { main: here('tests/mock/index.html'), prompt: here('tests/mock/prompt.html') }
          : { main: here('index.html'), prompt: here('prompt.html') },
      },
    },
    test: {
      root: here('.'),
      environment: 'jsdom',
      include: ['tests/unit/**/*.test.ts'],
      restoreMocks: true,
    },
  };
});
