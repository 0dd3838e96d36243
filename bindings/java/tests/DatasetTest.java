import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import ridgeline.Batch;
import ridgeline.BatchIterator;
import ridgeline.Dataset;
import ridgeline.IteratorSettings;
import ridgeline.RidgelineException.Kind;

final class DatasetTest {
  static void aPipelineOfTheCommandLineHasTheSameFactsHere() throws Exception {
    try (Dataset dataset = Dataset.fromJson(Files.text("shapes.json"))) {
      Check.same(64L, dataset.samples());
      Check.same(16L, dataset.size());
      Check.same(dataset.classes(), (long) dataset.classNames().size());
      Check.that(dataset.classNames().contains("circle"), "classes are " + dataset.classNames());
      try (Dataset again = Dataset.fromJson(dataset.toJson())) {
        Check.same(dataset.hash(), again.hash());
      }
    }
  }

  static void aChangedPipelineHasAnotherHash() throws Exception {
    try (Dataset dataset = Dataset.fromJson(Files.rows());
        Dataset changed = Dataset.fromJson(Files.rows().replace("\"size\":2", "\"size\":3"))) {
      Check.that(dataset.hash() != changed.hash(), "both have " + dataset.hash());
    }
  }

  static void aWrongPipelineIsRefusedWithTheEnginesWords() throws Exception {
    Check.refused(Kind.USAGE, () -> Dataset.fromJson("{"), "ridgeline_dataset_from_json");
    Check.refused(Kind.USAGE, () -> Dataset.fromJson(Files.rows().replace("\"op\":\"batch\"", "\"op\":\"bacth\"")),
        "bacth", "did you mean 'batch'?");
    Check.refused(Kind.USAGE, () -> Dataset.fromJson(null), "json is null");
    Check.refused(Kind.USAGE, () -> Dataset.fromJson("{}\0{"), "a zero character");
  }

  static void aMissingFileIsAFailureThatNamesIt() throws Exception {
    try (Dataset dataset = Dataset.fromJson(Files.pipeline(Path.of("/no/such.csv"), "\"image:f32\""))) {
      Check.refused(Kind.FAILURE, dataset::size, "/no/such.csv");
    }
  }

  static void textsBeyondAsciiGoBothWays() throws Exception {
    final Path csv = Files.folder.resolve("Größe 数 🙂.csv");
    java.nio.file.Files.writeString(csv, "image\n1\n2\n");
    try (Dataset dataset = Dataset.fromJson(Files.pipeline(csv, "\"image:f32\""))) {
      Check.same(1L, dataset.size());
      Check.that(dataset.toJson().contains("Größe 数 🙂.csv"), dataset.toJson());
    }
    Check.refused(Kind.USAGE, () -> Dataset.fromJson(Files.rows().replace("\"op\":\"batch\"", "\"op\":\"🙂\"")), "🙂");
  }

  static void aClosedObjectIsAnErrorAndClosingTwiceIsNone() throws Exception {
    final Dataset dataset = Dataset.fromJson(Files.rows());
    final BatchIterator batches = dataset.iterate();
    dataset.close();
    dataset.close();
    Check.refused(Kind.USAGE, dataset::size, "the dataset is closed");
    final Batch batch = batches.next();
    batches.close();
    batches.close();
    Check.refused(Kind.USAGE, batches::next, "the iterator is closed");
    Check.same(new int[] {0, 1}, batch.column("label").ints());
    batch.close();
    Check.refused(Kind.USAGE, () -> batch.column("label").ints(), "the batch is closed");
    Check.refused(Kind.USAGE, batch::records, "the batch is closed");
  }

  static void settingsAreThoseOfTheEnginesTable() throws Exception {
    for (String name : List.of("epochs", "workers", "pad_last", "start", "disabled_passes")) {
      Check.that(IteratorSettings.known().contains("\"" + name + "\""), name + " is not in " + IteratorSettings.known());
    }
    Check.that(Dataset.referencePage().contains("csv"), "the reference page names no csv");
    try (Dataset dataset = Dataset.fromJson(Files.rows())) {
      Check.refused(Kind.USAGE, () -> dataset.iterate(new IteratorSettings().set("epoch", 2)), "did you mean 'epochs'?");
      Check.refused(Kind.USAGE, () -> dataset.iterate(new IteratorSettings().set("workers", "two")), "workers");
      Check.refused(Kind.FAILURE,
          () -> dataset.iterate(new IteratorSettings().set("disabled_passes", List.of("a \"quoted\"\n\\ name"))),
          "unknown data pass 'a \"quoted\"\n\\ name'");
    }
  }

  static void anIteratorThatOneThreadClosesEndsTheOthersWait() throws Exception {
    try (Dataset dataset = Dataset.fromJson(Files.rows())) {
      final BatchIterator batches = dataset.iterate(new IteratorSettings().set("epochs", -1));
      final Thread other = new Thread(batches::close);
      Check.refused(Kind.USAGE, () -> {
        for (int i = 0;; ++i) {
          if (i == 3) other.start();
          batches.next().close();
        }
      });
      other.join(TimeUnit.SECONDS.toMillis(60));
      Check.that(!other.isAlive(), "the other thread did not end");
    }
  }
}
