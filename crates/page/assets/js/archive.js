// Sessions that are out of the way: not on the board, unless one asks for them.

import { part, post } from './api.js';
import { attempt } from './shell.js';

// Puts a session away, or back.
export function archive({ id, archived }) {
  const done = archived ? 'Back on the board' : 'Archived: the board shows it when asked for';
  return attempt(() => post(`/api/sessions/${part(id)}/archive`, { archived: !archived }), done);
}
