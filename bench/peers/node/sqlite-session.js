import Database from "better-sqlite3";

/** The items of many sessions in one SQLite database: WAL, every commit synced. */
export class SQLiteItems {
  #db;
  #statements;

  constructor(path) {
    this.#db = new Database(path);
    this.#db.pragma("journal_mode = WAL");
    this.#db.pragma("synchronous = FULL");
    this.#db.exec(`
      CREATE TABLE IF NOT EXISTS items (id INTEGER PRIMARY KEY, session TEXT NOT NULL, item TEXT NOT NULL);
      CREATE INDEX IF NOT EXISTS items_of_session ON items (session, id)`);
    this.#statements = {
      newest: this.#db.prepare("SELECT id, item FROM items WHERE session = ? ORDER BY id DESC LIMIT ?"),
      insert: this.#db.prepare("INSERT INTO items (session, item) VALUES (?, ?)"),
      remove: this.#db.prepare("DELETE FROM items WHERE id = ?"),
      clear: this.#db.prepare("DELETE FROM items WHERE session = ?"),
    };
  }

  /** One session, as the Agents SDK wants it. */
  session(id) {
    const db = this.#db;
    const { newest, insert, remove, clear } = this.#statements;
    const append = db.transaction((items) => {
      for (const item of items) insert.run(id, JSON.stringify(item));
    });
    const pop = db.transaction(() => {
      const last = newest.get(id, 1);
      if (last) remove.run(last.id);
      return last && JSON.parse(last.item);
    });
    return {
      getSessionId: async () => id,
      getItems: async (limit = -1) => newest.all(id, limit).reverse().map((row) => JSON.parse(row.item)),
      addItems: async (items) => append(items),
      popItem: async () => pop(),
      clearSession: async () => void clear.run(id),
    };
  }

  close() {
    this.#db.close();
  }
}
