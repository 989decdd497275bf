// The theme that was chosen, before anything is drawn. Not a module, so that the page never flashes.
try {
  document.documentElement.dataset.theme = JSON.parse(localStorage.getItem('switchboard.theme')) || 'auto';
} catch {
  document.documentElement.dataset.theme = 'auto';
}
