import { brief, isObject, type Json } from './json.js';

/**
 * Holds a value against what is expected of it, and says where it is otherwise; '' if it fits. Of an object each field that is
 * expected must fit, a list must fit as a whole. {"$matcher": operand} says it otherwise.
 */
export function match(want: Json, got: Json | undefined, at: string): string {
  if (isObject(want)) {
    const [first, ...more] = Object.entries(want);
    if (first !== undefined && more.length === 0 && first[0].startsWith('$')) {
      return matcher(first[0], first[1], got, at);
    }
    if (!isObject(got)) {
      return `${at} is ${brief(got)}, not an object`;
    }
    for (const [name, value] of Object.entries(want)) {
      const there = Object.hasOwn(got, name);
      const absent = isObject(value) && Object.keys(value).length === 1 ? value['$absent'] : undefined;
      if (typeof absent === 'boolean') {
        if (there === absent) {
          return `${at}.${name} is ${brief(got[name])}`;
        }
        continue;
      }
      const fault = there ? match(value, got[name], `${at}.${name}`) : `${at} has no ${name}: ${brief(got)}`;
      if (fault !== '') {
        return fault;
      }
    }
    return '';
  }
  if (Array.isArray(want)) {
    const list = want as readonly Json[];
    if (!Array.isArray(got) || got.length !== list.length) {
      return `${at} is ${brief(got)}, not a list of ${list.length}`;
    }
    return list.map((item, i) => match(item, (got as readonly Json[])[i], `${at}[${i}]`)).find((fault) => fault !== '') ?? '';
  }
  return want === got ? '' : `${at} is ${brief(got)}, not ${brief(want)}`;
}

function matcher(name: string, operand: Json, got: Json | undefined, at: string): string {
  const list = Array.isArray(got) ? (got as readonly Json[]) : undefined;
  switch (name) {
    case '$contains': // a text has a part
      return typeof got === 'string' && typeof operand === 'string' && operand !== '' && got.includes(operand) ? '' : `${at} is ${brief(got)}, without ${brief(operand)}`;
    case '$lacks': // the value's JSON has no such text
      return typeof operand === 'string' && operand !== '' && !JSON.stringify(got ?? null).includes(operand) ? '' : `${at} has ${brief(operand)}: ${brief(got)}`;
    case '$length':
      return (list?.length ?? 0) === operand && (list !== undefined || got === undefined || got === null) ? '' : `${at} has not ${brief(operand)} items: ${brief(got)}`;
    case '$some': { // a list has these, in this order, among others
      if (!Array.isArray(operand) || list === undefined) {
        return `${at}: $some takes lists, and it is ${brief(got)}`;
      }
      const wanted = [...(operand as readonly Json[])];
      for (const item of list) {
        if (wanted[0] !== undefined && match(wanted[0], item, '') === '') {
          wanted.shift();
        }
      }
      return wanted.length === 0 ? '' : `${at} has nothing like ${brief(wanted[0])}: ${brief(got)}`;
    }
    case '$all': // each of a list
      return list === undefined ? `${at} is no list: ${brief(got)}` : (list.map((item, i) => match(operand, item, `${at}[${i}]`)).find((fault) => fault !== '') ?? '');
    default:
      return `${at}: there is no matcher ${name}`;
  }
}
