/** Light or dark: as the system says, until somebody chooses. */
import { byId } from './page.js';

const CHOICE = 'ring-agent-theme';

export function startTheme() {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const button = byId('theme');
  const show = () => {
    const theme = localStorage.getItem(CHOICE) ?? (system.matches ? 'dark' : 'light');
    document.documentElement.dataset.theme = theme;
    button.textContent = theme === 'dark' ? 'Light' : 'Dark';
    button.setAttribute('aria-label', `Switch to ${theme === 'dark' ? 'light' : 'dark'} colours`);
  };
  button.addEventListener('click', () => {
    localStorage.setItem(CHOICE, document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
    show();
  });
  system.addEventListener('change', show);
  show();
}
