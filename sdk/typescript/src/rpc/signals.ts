/** Hears of the end of signals: with one listener on each, since it may be that of a whole application, and Node warns of many. */
export class Signals {
  readonly #heard = new Map<AbortSignal, Heard>();

  /** Calls `ended` when the signal ends, unless what is returned was called before. At once if it has ended. */
  on(signal: AbortSignal, ended: () => void): () => void {
    if (signal.aborted) {
      ended();
      return () => undefined;
    }
    let heard = this.#heard.get(signal);
    if (heard === undefined) {
      heard = new Heard();
      this.#heard.set(signal, heard);
      signal.addEventListener('abort', heard);
    }
    const { told } = heard;
    const one = (): void => ended(); // of this call, whoever gives the same function twice
    told.add(one);
    return () => {
      if (told.delete(one) && told.size === 0) {
        this.#heard.delete(signal);
        signal.removeEventListener('abort', heard);
      }
    };
  }
}

class Heard {
  readonly told = new Set<() => void>();

  handleEvent(): void {
    for (const ended of this.told) {
      ended();
    }
  }
}
