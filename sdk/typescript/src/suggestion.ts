/** What other libraries call it, and what it is called here, by place: the first that a place knows is meant. */
const habits: Readonly<Record<string, readonly string[]>> = {
  approved: ['decision'],
  cwd: ['workspace'],
  directory: ['stateDir', 'workspace'],
  from: ['after'],
  fn: ['execute'],
  func: ['execute'],
  handler: ['execute'],
  maxsteps: ['maxModelCalls'],
  maxtokens: ['maxOutputTokens'],
  maxturns: ['maxModelCalls'],
  model: ['defaultModel', 'name'],
  parameters: ['inputSchema'],
  prompt: ['instructions', 'instructionAddendum'],
  run: ['execute'],
  since: ['after'],
  system: ['instructions', 'instructionAddendum'],
  systemmessage: ['instructions', 'instructionAddendum'],
  systemprompt: ['instructions', 'instructionAddendum'],
  userid: ['owner'],
  workingdirectory: ['workspace'],
};

const handlers = 'runWith and run.resultWith take handlers';
const approvals = "approvals are the agent's, as in approvals: { mode: 'only', tools: ['mail.send'] }";

/** What has its place elsewhere. */
const elsewhere: Readonly<Record<string, string>> = {
  onApproval: `use runWith: ${handlers}`,
  onQuestion: `use runWith: ${handlers}`,
  onUnknownOutcome: `use runWith: ${handlers}`,
  onEvent: `use runWith: ${handlers}`,
  needsApproval: approvals,
  requiresApproval: approvals,
  requireApproval: approvals,
  apiKey: 'secrets are given to Harness.open as credentials',
};

/** Says what was probably meant by a name that is not known, or all names that are. */
export function suggestion(name: string, known: readonly string[]): string {
  if (Object.hasOwn(elsewhere, name)) {
    return `; ${elsewhere[name]}`;
  }
  const meant = nearest(name, known);
  if (meant !== undefined) {
    return `; did you mean "${meant}"?`;
  }
  return known.every((word) => word === 'signal') ? '; it takes signal alone' : `; it has ${known.join(', ')}`;
}

/** The known name that was probably meant: one of few other letters, one by habit, or one that has the other in it. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const said = folded(name);
  const near = known
    .map((word) => ({ word, far: distance(said, folded(word)) }))
    .toSorted((a, b) => a.far - b.far)[0];
  if (near !== undefined && near.far <= Math.min(Math.max(2, Math.floor(said.length / 4)), said.length / 2)) {
    return near.word;
  }
  const habit = (Object.hasOwn(habits, said) ? habits[said] : undefined)?.find((word) => known.includes(word));
  const [alike, another] = known.filter((word) => holds(said, folded(word)) || holds(folded(word), said));
  return habit ?? (another === undefined ? alike : undefined);
}

/** Names are the same in any case, and with any mark between their words. */
function folded(name: string): string {
  return name.slice(0, 64).toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/** Whether a name has another in it that is long enough to be no accident. */
function holds(name: string, part: string): boolean {
  return part.length >= 5 && name.includes(part);
}

/** How many letters differ (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + same));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
