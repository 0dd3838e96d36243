import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import ridgeline.Batch;
import ridgeline.BatchIterator;
import ridgeline.Dataset;
import ridgeline.IteratorSettings;
import ridgeline.RidgelineException.Kind;

final class StateTest {
  static void aRunGoesOnFromItsState() throws Exception {
    try (Dataset dataset = Dataset.fromJson(Files.text("shapes.json"))) {
      final List<Float> whole = sums(dataset.iterate(new IteratorSettings().set("epochs", 2)), 32);
      final Path file = Files.folder.resolve("state.json");
      final List<Float> first;
      final String state;
      try (BatchIterator batches = dataset.iterate(new IteratorSettings().set("epochs", 2).set("workers", 1))) {
        first = take(batches, 19);
        state = batches.state();
        batches.save(file);
        Check.same(whole.subList(19, 21), take(batches, 2));
        batches.restore(state);
        Check.same(whole.subList(19, 32), take(batches, 13));
      }
      Check.same(whole.subList(0, 19), first);
      Check.same(whole.subList(19, 32),
          sums(dataset.iterate(new IteratorSettings().set("epochs", 2).set("workers", 2).start(state)), 13));
      try (BatchIterator batches = dataset.iterate(new IteratorSettings().set("epochs", 2))) {
        batches.load(file);
        Check.same(whole.subList(19, 32), take(batches, 13));
      }
    }
  }

  static void aStateOfAnotherPipelineIsRefused() throws Exception {
    try (Dataset dataset = Dataset.fromJson(Files.rows());
        Dataset other = Dataset.fromJson(Files.text("shapes.json"));
        BatchIterator batches = dataset.iterate();
        BatchIterator others = other.iterate()) {
      final String state = others.state();
      Check.refused(Kind.FAILURE, () -> batches.restore(state), "[data state]");
      Check.refused(Kind.FAILURE, () -> batches.restore("{"), "[data state]");
      Check.refused(Kind.FAILURE, () -> batches.load(Path.of("/no/such/state.json")), "/no/such/state.json");
      Check.same(new int[] {0, 1}, labels(batches));
    }
  }

  private static int[] labels(BatchIterator batches) {
    try (Batch batch = batches.next()) {
      return batch.column("label").ints();
    }
  }

  private static List<Float> sums(BatchIterator batches, int count) {
    try (BatchIterator open = batches) {
      final List<Float> sums = take(open, count);
      Check.same(null, open.next());
      return sums;
    }
  }

  /** One number per batch. */
  private static List<Float> take(BatchIterator batches, int count) {
    final List<Float> sums = new ArrayList<>();
    for (int i = 0; i < count; ++i) {
      try (Batch batch = batches.next()) {
        float sum = 0;
        for (float value : batch.column("image").floats()) sum += value;
        sums.add(sum);
      }
    }
    return sums;
  }
}
