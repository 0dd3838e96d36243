package ridgeline;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A model that predicts, from a file of {@code ridgeline export}. Any thread may call; calls are serialised.
 *
 * <pre>{@code
 * try (Model model = Model.load(Path.of("mine.rdgm"))) {
 *   Predictions shown = model.predictEncoded(Files.readAllBytes(Path.of("picture.jpg")));
 *   System.out.println(model.className(shown.best(0)) + " " + shown.probability(0, shown.best(0)));
 * }
 * }</pre>
 */
public final class Model implements AutoCloseable {
  private final Handle handle;
  private final long[] numbers;

  private Model(long model) {
    handle = new Handle(model, "model", NativeInfer::freeModel);
    try {
      numbers = NativeInfer.modelNumbers(model);
    } catch (RuntimeException e) {
      handle.close();
      throw e;
    }
  }

  /** Loads with the batch size of the file and one thread per core. The file may be removed afterwards. */
  public static Model load(Path path) {
    return load(path, 0, 0);
  }

  /** {@code batchSize}: rows computed at once; 0: that of the file. {@code threads}: 0: one per usable core. */
  public static Model load(Path path, long batchSize, int threads) {
    return new Model(NativeInfer.loadModel(Text.toC(path.toString(), "path"), batchSize, threads));
  }

  /** Rows computed at once; predictions may be given any number. */
  public long batchSize() {
    return numbers[NativeInfer.BATCH_SIZE];
  }

  public long height() {
    return numbers[NativeInfer.HEIGHT];
  }

  public long width() {
    return numbers[NativeInfer.WIDTH];
  }

  public long channels() {
    return numbers[NativeInfer.CHANNELS];
  }

  public int classes() {
    return (int) numbers[NativeInfer.CLASSES];
  }

  /** The type of input tensors: {@link DType#U8} pixels, or {@link DType#F32}, normalised. */
  public DType dtype() {
    return DType.values()[(int) numbers[NativeInfer.DTYPE]];
  }

  /** Whether the file contains the preprocessing that {@link #predictEncoded} needs. */
  public boolean takesEncoded() {
    return numbers[NativeInfer.ENCODED] != 0;
  }

  /** The name of a class; empty if the file has none for it. */
  public String className(long label) {
    return Text.fromC(NativeInfer.className(handle.get(), label));
  }

  public List<String> classNames() {
    final List<String> names = new ArrayList<>();
    for (int label = 0; label < classes(); ++label) names.add(className(label));
    return names;
  }

  /** Predicts JPEG, PNG, WebP or BMP images, given as the bytes of their files. */
  public Predictions predictEncoded(byte[]... images) {
    final Predictions predictions = new Predictions(images.length, classes());
    NativeInfer.predictEncoded(handle.get(), images, predictions.probabilities, predictions.logits);
    return predictions;
  }

  /** Predicts a contiguous f32 tensor [rows, height, width, channels]. */
  public Predictions predict(float[] images) {
    final long rows = rowsOf(images.length, DType.F32);
    final Predictions predictions = new Predictions(rows, classes());
    NativeInfer.predictFloats(handle.get(), images, rows, predictions.probabilities, predictions.logits);
    return predictions;
  }

  /** The same for a u8 tensor. */
  public Predictions predict(byte[] images) {
    final long rows = rowsOf(images.length, DType.U8);
    final Predictions predictions = new Predictions(rows, classes());
    NativeInfer.predictBytes(handle.get(), images, rows, predictions.probabilities, predictions.logits);
    return predictions;
  }

  /**
   * The same for a tensor of the model's type in a direct buffer in the machine's byte order, between its position and
   * its limit, such as a {@link Column#buffer}. Nothing is copied.
   */
  public Predictions predict(ByteBuffer images) {
    if (!images.isDirect()) throw usage("the buffer is not direct: give an array, or ByteBuffer.allocateDirect's");
    if (dtype().size() > 1 && images.order() != ByteOrder.nativeOrder()) {
      throw usage("the buffer is in another byte order than the machine");
    }
    if (images.remaining() % dtype().size() != 0) {
      throw usage("the buffer has " + images.remaining() + " bytes, an element " + dtype().size());
    }
    final long rows = rowsOf(images.remaining() / dtype().size(), dtype());
    final Predictions predictions = new Predictions(rows, classes());
    NativeInfer.predictDirect(
        handle.get(), images.slice(), rows, predictions.probabilities, predictions.logits);
    return predictions;
  }

  @Override
  public void close() {
    handle.close();
  }

  private long rowsOf(long elements, DType given) {
    if (given != dtype()) throw usage("the model takes " + dtype() + ", the tensors are " + given);
    final long row = height() * width() * channels();
    if (elements == 0 || elements % row != 0) {
      throw usage(elements + " elements are no number of tensors of [" + height() + "," + width() + "," + channels() + "]");
    }
    return elements / row;
  }

  private static RidgelineException usage(String message) {
    return new RidgelineException(RidgelineException.Kind.USAGE, message);
  }
}
