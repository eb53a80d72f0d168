import svelte from 'eslint-plugin-svelte';
import globals from 'globals';
import ts from 'typescript-eslint';
import svelteConfig from './svelte.config.js';

const backendOnly = {
  patterns: [{ group: ['@tauri-apps/*'], message: 'Only src/lib/ipc talks to the shell.' }],
};

export default ts.config(
  { ignores: ['dist', 'test-results', 'src/lib/protocol'] },
  ...ts.configs.recommended,
  ...svelte.configs.recommended,
  {
    languageOptions: { globals: { ...globals.browser, ...globals.node } },
    rules: {
      'no-eval': 'error',
      'no-implied-eval': 'error',
      'no-new-func': 'error',
      'no-console': 'error',
      eqeqeq: 'error',
      'no-undef': 'off',
      '@typescript-eslint/consistent-type-imports': 'error',
    },
  },
  {
    files: ['**/*.svelte', '**/*.svelte.ts'],
    languageOptions: { parserOptions: { parser: ts.parser, extraFileExtensions: ['.svelte'], svelteConfig } },
    rules: { 'svelte/no-at-html-tags': 'error', 'svelte/prefer-svelte-reactivity': 'off' },
  },
  { files: ['src/**'], rules: { 'no-restricted-imports': ['error', backendOnly] } },
  { files: ['src/lib/ipc/**'], rules: { 'no-restricted-imports': 'off' } },
  { files: ['tests/*.mjs'], rules: { 'no-console': 'off' } },
);
