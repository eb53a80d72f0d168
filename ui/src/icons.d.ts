/** Icons of the Lucide set as components, made when the page is built (`vite.config.ts`). */
declare module '~icons/lucide/*' {
  import type { Component } from 'svelte';

  const icon: Component<{
    /** Edge length in pixels. */
    size?: number;
    class?: string;
    /** What it stands for, where no text beside it says so. */
    'aria-label'?: string;
  }>;
  export default icon;
}
