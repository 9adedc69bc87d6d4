// The scenarios that every face runs (FA9), through the SDK: one behaviour in Go, over plain JSON and here.
import { suite, test } from 'node:test';
import { Play } from './play.js';
import { topics } from './scenario.js';

for (const { topic, scenarios } of topics()) {
  suite(topic, { concurrency: 4 }, () => {
    for (const scenario of scenarios) {
      test(scenario.name, () => Play.run(scenario));
    }
  });
}
