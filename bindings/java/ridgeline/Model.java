package ridgeline;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A model file ({@code ridgeline export}) that predicts. Any thread may call; calls on one model take turns.
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

  /** With the batch size of the file and a thread for each core. The file may be removed afterwards. */
  public static Model load(Path path) {
    return load(path, 0, 0);
  }

  /** {@code batchSize}: rows of one run, 0: as the file has them. {@code threads}: 0: the cores that may be used. */
  public static Model load(Path path, long batchSize, int threads) {
    return new Model(NativeInfer.loadModel(Text.toC(path.toString(), "path"), batchSize, threads));
  }

  /** Rows of one run; any number may be given. */
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

  /** Of tensors: {@link DType#U8} pixels, or {@link DType#F32} that are normalised. */
  public DType dtype() {
    return DType.values()[(int) numbers[NativeInfer.DTYPE]];
  }

  /** Whether the file has the preprocessing that {@link #predictEncoded} needs. */
  public boolean takesEncoded() {
    return numbers[NativeInfer.ENCODED] != 0;
  }

  /** Empty for a class that the file has no name for. */
  public String className(long label) {
    return Text.fromC(NativeInfer.className(handle.get(), label));
  }

  public List<String> classNames() {
    final List<String> names = new ArrayList<>();
    for (int label = 0; label < classes(); ++label) names.add(className(label));
    return names;
  }

  /** What each JPEG, PNG, WebP or BMP shows, given as the bytes of its file. */
  public Predictions predictEncoded(byte[]... images) {
    final Predictions predictions = new Predictions(images.length, classes());
    NativeInfer.predictEncoded(handle.get(), images, predictions.probabilities, predictions.logits);
    return predictions;
  }

  /** Tensors of f32, [rows, height, width, channels] without gaps. */
  public Predictions predict(float[] images) {
    final long rows = rowsOf(images.length, DType.F32);
    final Predictions predictions = new Predictions(rows, classes());
    NativeInfer.predictFloats(handle.get(), images, rows, predictions.probabilities, predictions.logits);
    return predictions;
  }

  /** Tensors of u8 likewise. */
  public Predictions predict(byte[] images) {
    final long rows = rowsOf(images.length, DType.U8);
    final Predictions predictions = new Predictions(rows, classes());
    NativeInfer.predictBytes(handle.get(), images, rows, predictions.probabilities, predictions.logits);
    return predictions;
  }

  /**
   * Tensors of the model's type in a direct buffer in the machine's byte order, between its position and its limit: a
   * {@link Column#buffer}, for instance. Nothing is copied.
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
