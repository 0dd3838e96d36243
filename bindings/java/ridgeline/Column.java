package ridgeline;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** One column of a batch: elements of one type, contiguous in row-major order. */
public final class Column {
  private final String name;
  private final DType dtype;
  private final long[] shape;
  private final ByteBuffer memory;
  private final Handle batch;

  Column(String name, DType dtype, long[] shape, ByteBuffer memory, Handle batch) {
    this.name = name;
    this.dtype = dtype;
    this.shape = shape;
    this.memory = memory;
    this.batch = batch;
  }

  public String name() {
    return name;
  }

  public DType dtype() {
    return dtype;
  }

  /** The shape; its first extent is the number of rows. */
  public long[] shape() {
    return shape.clone();
  }

  /**
   * The memory of the batch in the machine's byte order, not a copy; it may be modified. It must not be used after the
   * batch was closed, since the workers write another batch there. Null for byte strings.
   */
  public ByteBuffer buffer() {
    batch.get();
    return memory == null ? null : memory.duplicate().order(ByteOrder.nativeOrder());
  }

  /** A copy of a column of f32, which outlives the batch. */
  public float[] floats() {
    final float[] values = new float[elements(DType.F32)];
    buffer().asFloatBuffer().get(values);
    return values;
  }

  /** A copy of a column of i32. */
  public int[] ints() {
    final int[] values = new int[elements(DType.I32)];
    buffer().asIntBuffer().get(values);
    return values;
  }

  /** A copy of a column of i64. */
  public long[] longs() {
    final long[] values = new long[elements(DType.I64)];
    buffer().asLongBuffer().get(values);
    return values;
  }

  /** A copy of a column of u8; a value above 127 is a negative byte. */
  public byte[] bytes() {
    final byte[] values = new byte[elements(DType.U8)];
    buffer().get(values);
    return values;
  }

  private int elements(DType asked) {
    batch.get();
    if (dtype != asked) {
      throw new RidgelineException(RidgelineException.Kind.USAGE,
          "column '" + name + "' is " + dtype + ", it was asked for " + asked);
    }
    return memory.capacity() / dtype.size();
  }
}
