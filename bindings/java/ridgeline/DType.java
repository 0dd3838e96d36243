package ridgeline;

/** Types of elements, in the order of the C interface's numbers. */
public enum DType {
  F64(8),
  F32(4),
  BF16(2),
  F16(2),
  U8(1),
  I32(4),
  I64(8),
  BOOL(1),
  /** Byte strings: {@link Batch#text}. */
  BYTES(0);

  private final int size;

  DType(int size) {
    this.size = size;
  }

  /** The size of an element in bytes; 0 for byte strings. */
  public int size() {
    return size;
  }
}
