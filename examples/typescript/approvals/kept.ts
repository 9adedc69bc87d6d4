import { open, readFile, rename } from 'node:fs/promises';
import type { Agent, Session, SessionReference } from '@openworkerai/harness-sdk';

/** The session that a file has the reference of, or a new one whose reference the file gets before anything is sent to it. */
export async function kept(agent: Agent, file: string): Promise<Session> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text !== undefined) return agent.resumeSession(JSON.parse(text) as SessionReference);
  const session = await agent.newSession();
  await keep(file, JSON.stringify(session.reference()));
  return session;
}

/** Writes a file so that after a crash it is there as a whole, or not at all. */
async function keep(file: string, text: string): Promise<void> {
  const handle = await open(`${file}.new`, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(`${file}.new`, file);
}
