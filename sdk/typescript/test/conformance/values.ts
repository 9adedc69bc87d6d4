import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { brief, isObject, type Json } from './json.js';
import { directory } from './scenario.js';

/** What a scenario's steps may refer to: results by their names, and the directories that they use. */
export class Values {
  readonly named = new Map<string, Json>();
  readonly #directory: string;
  readonly #state: string;

  constructor(own: string, state: string) {
    this.#directory = own;
    this.#state = state;
  }

  /** Puts values for references and generators. What does not begin with $ stays, and so do matchers, their operands evaluated. */
  eval(value: Json): Json {
    if (typeof value === 'string') {
      return value.startsWith('$') ? this.#refer(value.slice(1)) : value;
    }
    if (Array.isArray(value)) {
      return (value as readonly Json[]).map((item) => this.eval(item));
    }
    if (!isObject(value)) {
      return value;
    }
    const out: Record<string, Json> = {};
    for (const [name, given] of Object.entries(value)) {
      const evaluated = this.eval(given);
      const made = this.#generate(name, evaluated);
      if (made !== undefined) {
        return made;
      }
      out[name] = evaluated;
    }
    return out;
  }

  /** Finds "name.field.0.field". */
  #refer(reference: string): Json {
    const [name = '', ...fields] = reference.split('.');
    let value = this.named.get(name);
    for (const field of fields) {
      value = isObject(value) ? value[field] : Array.isArray(value) ? (value as readonly Json[])[Number(field)] : undefined;
    }
    if (value === undefined) {
      throw new Error(`there is no $${reference}`);
    }
    return value;
  }

  /** Makes a value of {"$generator": operand}; undefined for a name that is none's. */
  #generate(name: string, operand: Json): Json | undefined {
    const list = Array.isArray(operand) ? (operand as readonly Json[]) : [];
    const text = (): string => {
      if (typeof operand !== 'string') {
        throw new TypeError(`${name} does not take ${brief(operand)}`);
      }
      return operand;
    };
    switch (name) {
      case '$repeat':
        return (list[0] as string).repeat(list[1] as number);
      case '$join':
        return list.map(String).join('');
      case '$nest': {
        let made: Json = {};
        for (let level = 1; level < Number(operand); level++) {
          made = { a: made };
        }
        return made;
      }
      case '$base64':
        return Buffer.from(text()).toString('base64');
      case '$file':
        return readFileSync(path.join(directory, 'files', path.basename(text()))).toString('base64');
      case '$dir': {
        const made = path.join(this.#directory, path.basename(text()));
        mkdirSync(made, { recursive: true, mode: 0o700 });
        return made;
      }
      case '$missing':
        return path.join(this.#directory, 'missing', path.basename(text()));
      case '$state':
        return path.join(this.#state, path.basename(text()));
      default:
        return undefined;
    }
  }
}
