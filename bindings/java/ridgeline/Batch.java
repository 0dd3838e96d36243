package ridgeline;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** One batch, lent by its iterator: {@link #close} returns the memory. */
public final class Batch implements AutoCloseable {
  private final Handle handle;
  private final long[] numbers;
  private final List<Column> columns;

  Batch(long batch) {
    handle = new Handle(batch, "batch", NativeData::freeBatch);
    try {
      numbers = NativeData.batchNumbers(batch);
      final List<Column> found = new ArrayList<>();
      for (int i = 0; i < numbers[NativeData.COLUMNS]; ++i) found.add(column(i));
      columns = Collections.unmodifiableList(found);
    } catch (RuntimeException e) {
      handle.close();
      throw e;
    }
  }

  /** The first extent of every column. */
  public long rows() {
    return numbers[NativeData.ROWS];
  }

  /** The number of rows that are samples; they come first. Less than {@link #rows} only with the setting pad_last. */
  public long samples() {
    return numbers[NativeData.SAMPLES];
  }

  /** The number of the epoch, from 0. */
  public long epoch() {
    return numbers[NativeData.EPOCH];
  }

  /** The number of the batch in its epoch, from 0. */
  public long index() {
    return numbers[NativeData.INDEX];
  }

  public boolean lastOfEpoch() {
    return numbers[NativeData.LAST_OF_EPOCH] != 0;
  }

  /** Whether this is a copy, which is made when the caller holds many batches. */
  public boolean copied() {
    return numbers[NativeData.COPIED] != 0;
  }

  /** The record numbers in the source, one for each sample. */
  public long[] records() {
    return NativeData.batchRecords(handle.get());
  }

  public List<Column> columns() {
    return columns;
  }

  /** A column by its name: image, label, mask, ... */
  public Column column(String name) {
    final StringBuilder names = new StringBuilder();
    for (Column column : columns) {
      if (column.name().equals(name)) return column;
      names.append(names.length() == 0 ? "" : ", ").append(column.name());
    }
    throw new RidgelineException(RidgelineException.Kind.USAGE,
        "the batch has no column '" + name + "' (it has: " + names + ")");
  }

  /** One byte string of a column of {@link DType#BYTES}. */
  public byte[] text(String name, long row) {
    return NativeData.batchText(handle.get(), Text.toC(name, "name"), row);
  }

  @Override
  public void close() {
    handle.close();
  }

  private Column column(int i) {
    final long batch = handle.get();
    return new Column(Text.fromC(NativeData.columnName(batch, i)), DType.values()[NativeData.columnDType(batch, i)],
        NativeData.columnShape(batch, i), NativeData.columnBuffer(batch, i), handle);
  }
}
