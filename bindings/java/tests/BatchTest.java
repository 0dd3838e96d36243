import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import ridgeline.Batch;
import ridgeline.BatchIterator;
import ridgeline.Column;
import ridgeline.DType;
import ridgeline.Dataset;
import ridgeline.IteratorSettings;
import ridgeline.RidgelineException.Kind;

final class BatchTest {
  static void batchesHaveTheRowsOfTheFileInOrder() throws Exception {
    final List<Float> values = new ArrayList<>();
    final List<Long> sizes = new ArrayList<>();
    try (Dataset dataset = Dataset.fromJson(Files.rows()); BatchIterator batches = dataset.iterate()) {
      Check.same(3L, batches.batchesPerEpoch());
      for (Batch batch; (batch = batches.next()) != null; ) {
        try (Batch lent = batch) {
          Check.same((long) sizes.size(), lent.index());
          Check.same(0L, lent.epoch());
          Check.same(sizes.size() == 2, lent.lastOfEpoch());
          sizes.add(lent.rows());
          Check.same(lent.rows(), lent.samples());
          for (float value : lent.column("image").floats()) values.add(value);
          Check.same((long) lent.column("label").ints()[0], lent.records()[0]);
        }
      }
      Check.same(null, batches.next());
    }
    Check.same(List.of(2L, 2L, 1L), sizes);
    Check.same(List.of(1.5f, 2.5f, 3.5f, 4.5f, 5.5f), values);
  }

  static void aPaddedBatchTellsItsSamples() throws Exception {
    try (Dataset dataset = Dataset.fromJson(Files.rows());
        BatchIterator batches = dataset.iterate(new IteratorSettings().set("pad_last", true))) {
      final List<byte[]> masks = new ArrayList<>();
      batches.forEachRemaining(batch -> {
        Check.same(2L, batch.rows());
        Check.same(batch.lastOfEpoch() ? 1L : 2L, batch.samples());
        masks.add(batch.column("mask").bytes());
      });
      Check.same(3, masks.size());
      Check.same(new byte[] {1, 0}, masks.get(2));
    }
  }

  static void aColumnsBufferIsTheBatchsOwnMemory() throws Exception {
    try (Dataset dataset = Dataset.fromJson(Files.rows());
        BatchIterator batches = dataset.iterate();
        Batch batch = batches.next()) {
      final Column image = batch.column("image");
      Check.same(DType.F32, image.dtype());
      Check.same(2L, image.shape()[0]);
      Check.that(image.buffer().isDirect(), "the buffer is not direct");
      Check.same(ByteOrder.nativeOrder(), image.buffer().order());
      Check.same(8, image.buffer().remaining());
      image.buffer().putFloat(0, 9);
      Check.same(9f, image.floats()[0]);
      Check.refused(Kind.USAGE, image::ints, "column 'image' is F32", "I32");
      Check.refused(Kind.USAGE, () -> batch.column("lable"), "no column 'lable'", "image, label");
    }
  }

  static void byteStringsComeOneByOne() throws Exception {
    final Path csv = Files.folder.resolve("names.csv");
    java.nio.file.Files.writeString(csv, "name\nÄpfel\nzwei\n");
    try (Dataset dataset = Dataset.fromJson(Files.pipeline(csv, "\"name:bytes\""));
        BatchIterator batches = dataset.iterate();
        Batch batch = batches.next()) {
      Check.same(DType.BYTES, batch.column("name").dtype());
      Check.same(null, batch.column("name").buffer());
      Check.same("Äpfel", new String(batch.text("name", 0), java.nio.charset.StandardCharsets.UTF_8));
      Check.same("zwei", new String(batch.text("name", 1), java.nio.charset.StandardCharsets.UTF_8));
      Check.refused(Kind.USAGE, () -> batch.text("name", 2));
    }
  }

  static void picturesAreTheSameUnderAnyNumberOfThreads() throws Exception {
    final List<Integer> hashes = new ArrayList<>();
    for (IteratorSettings settings : List.of(new IteratorSettings().set("pull", true), new IteratorSettings().set("workers", 3))) {
      try (Dataset dataset = Dataset.fromJson(Files.text("shapes.json"));
          BatchIterator batches = dataset.iterate(settings.set("epochs", 2).set("seed", 7))) {
        int hash = 0, count = 0;
        for (Batch batch; (batch = batches.next(Duration.ofMinutes(5))) != null; ++count) {
          try (Batch lent = batch) {
            Check.same(new long[] {4, 32, 32, 3}, lent.column("image").shape());
            hash = 31 * hash + Arrays.hashCode(lent.column("image").floats());
            hash = 31 * hash + Arrays.hashCode(lent.column("label").ints());
          }
        }
        Check.same(32, count);
        Check.that(batches.statistics().startsWith("{"), batches.statistics());
        hashes.add(hash);
      }
    }
    Check.same(hashes.get(0), hashes.get(1));
  }

  static void aBadPictureIsAFailureThatNamesItOrIsSkipped() throws Exception {
    final Path data = Files.folder.resolve("bad");
    for (String split : List.of("train", "val")) {
      java.nio.file.Files.createDirectories(data.resolve(split).resolve("circle"));
      java.nio.file.Files.copy(Files.pictures().get(0), data.resolve(split).resolve("circle/good.jpg"),
          java.nio.file.StandardCopyOption.REPLACE_EXISTING);
      java.nio.file.Files.writeString(data.resolve(split).resolve("circle/bad.jpg"), "no picture");
    }
    final String json = Files.text("shapes.json")
        .replace(Files.folder.resolve("shapes").toString(), data.toString())
        .replace("\"drop_remainder\": true", "\"drop_remainder\": false");
    try (Dataset dataset = Dataset.fromJson(json)) {
      try (BatchIterator batches = dataset.iterate()) {
        Check.refused(Kind.FAILURE, () -> batches.forEachRemaining(batch -> {}), "bad.jpg");
      }
      try (BatchIterator batches = dataset.iterate(new IteratorSettings().set("bad_samples", "skip"))) {
        final long[] samples = {0};
        batches.forEachRemaining(batch -> samples[0] += batch.samples());
        Check.same(1L, samples[0]);
      }
    }
  }
}
