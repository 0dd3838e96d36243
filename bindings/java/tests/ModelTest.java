import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import ridgeline.DType;
import ridgeline.Model;
import ridgeline.Predictions;
import ridgeline.RidgelineException.Kind;

final class ModelTest {
  static void aModelFileTellsWhatItTakes() {
    try (Model model = load()) {
      Check.same(List.of(32L, 32L, 3L), List.of(model.height(), model.width(), model.channels()));
      Check.same(DType.U8, model.dtype());
      Check.that(model.takesEncoded(), "the file has no preprocessing");
      Check.same(model.classes(), model.classNames().size());
      Check.that(model.classNames().contains("circle"), "classes are " + model.classNames());
    }
  }

  static void picturesAreNamedAsByTheCommandLine() throws Exception {
    final String[] lines = Files.text("predictions.csv").split("\n");
    try (Model model = load()) {
      for (int i = 0; i < Files.pictures().size(); ++i) {
        final Path picture = Files.pictures().get(i);
        final Predictions shown = model.predictEncoded(Files.bytes(picture));
        final String line = lines[i + 1];
        final String name = model.className(shown.best(0));
        Check.that(line.contains(picture.getFileName().toString()) && Arrays.asList(line.split(",")).contains(name),
            line + " is not " + picture + ", " + name);
        float sum = 0;
        for (float probability : shown.probabilities(0)) sum += probability;
        Check.that(Math.abs(sum - 1) < 1e-5, "probabilities add up to " + sum);
      }
    }
  }

  static void severalPicturesInOneCallAreThoseOfSeveralCalls() throws Exception {
    final List<byte[]> images = new ArrayList<>();
    for (Path picture : Files.pictures()) images.add(Files.bytes(picture));
    try (Model model = load(); Model wide = Model.load(Files.folder.resolve("model.rdgm"), 4, 2)) {
      Check.same(4L, wide.batchSize());
      final Predictions together = wide.predictEncoded(images.toArray(new byte[0][]));
      Check.same(images.size(), together.rows());
      for (int i = 0; i < images.size(); ++i) {
        final Predictions alone = model.predictEncoded(images.get(i));
        for (int label = 0; label < model.classes(); ++label) {
          Check.that(Math.abs(alone.logit(0, label) - together.logit(i, label)) < 1e-4,
              alone.logit(0, label) + " and " + together.logit(i, label));
        }
      }
    }
  }

  static void tensorsComeAsArraysOrDirectBuffers() {
    try (Model model = load()) {
      final byte[] pixels = new byte[2 * 32 * 32 * 3];
      for (int i = 0; i < pixels.length; ++i) pixels[i] = (byte) (i * i / 7);
      final ByteBuffer direct = ByteBuffer.allocateDirect(pixels.length + 5).order(ByteOrder.nativeOrder());
      direct.position(5);
      direct.put(pixels).position(5);
      final Predictions byArray = model.predict(pixels), byBuffer = model.predict(direct);
      Check.same(2, byArray.rows());
      Check.same(byArray.logits(1), byBuffer.logits(1));
      Check.that(!Arrays.equals(byArray.logits(0), byArray.logits(1)), "two images have the same logits");
      Check.same(5, direct.position());
    }
  }

  static void tensorsOfAnotherTypeOrSizeAreRefused() throws Exception {
    try (Model model = load()) {
      Check.refused(Kind.USAGE, () -> model.predict(new float[32 * 32 * 3]), "the model takes U8", "F32");
      Check.refused(Kind.USAGE, () -> model.predict(new byte[100]), "100 elements", "[32,32,3]");
      Check.refused(Kind.USAGE, () -> model.predict(new byte[0]), "0 elements");
      Check.refused(Kind.USAGE, () -> model.predict(ByteBuffer.allocate(32 * 32 * 3)), "not direct");
    }
  }

  static void filesThatAreNoneAreRefused() throws Exception {
    Check.refused(Kind.FAILURE, () -> Model.load(Path.of("/no/such.rdgm")), "/no/such.rdgm");
    final Path damaged = Files.folder.resolve("damaged.rdgm");
    final byte[] bytes = Files.bytes(Files.folder.resolve("model.rdgm"));
    java.nio.file.Files.write(damaged, Arrays.copyOf(bytes, bytes.length / 2));
    Check.refused(Kind.FAILURE, () -> Model.load(damaged), "damaged.rdgm");
    try (Model model = load()) {
      Check.refused(Kind.FAILURE, () -> model.predictEncoded(new byte[] {1, 2, 3}));
      Check.refused(Kind.USAGE, () -> model.predictEncoded(Files.bytes(Files.pictures().get(0)), null), "image 1 is null");
      Check.refused(Kind.USAGE, () -> model.className(model.classes()));
      Check.refused(Kind.USAGE, () -> Model.load(Files.folder.resolve("model.rdgm"), -1, 0));
    }
  }

  static void aClosedModelIsAnError() throws Exception {
    final Model model = load();
    model.close();
    model.close();
    Check.refused(Kind.USAGE, () -> model.predict(new byte[32 * 32 * 3]), "the model is closed");
  }

  static void threadsShareAModel() throws Exception {
    final byte[] image = Files.bytes(Files.pictures().get(0));
    try (Model model = load()) {
      final float[] expected = model.predictEncoded(image).logits(0);
      final List<Throwable> wrong = Collections.synchronizedList(new ArrayList<>());
      final List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 4; ++i) {
        threads.add(new Thread(() -> {
          for (int k = 0; k < 5; ++k) Check.same(expected, model.predictEncoded(image).logits(0));
        }));
      }
      for (Thread thread : threads) thread.setUncaughtExceptionHandler((t, e) -> wrong.add(e));
      for (Thread thread : threads) thread.start();
      for (Thread thread : threads) thread.join();
      Check.same(List.of(), wrong);
    }
  }

  private static Model load() {
    return Model.load(Files.folder.resolve("model.rdgm"));
  }
}
