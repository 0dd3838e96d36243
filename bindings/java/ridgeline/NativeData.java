package ridgeline;

import java.nio.ByteBuffer;

/** Functions of ridgeline_data.h, in libridgeline_data_java. Failures are thrown as {@link RidgelineException}. */
final class NativeData {
  static {
    System.loadLibrary("ridgeline_data_java");
  }

  /** What {@link #nextBatch} returns if there is no batch. */
  static final long NO_FURTHER_BATCH = 0, NO_BATCH_IN_TIME = -1;
  /** Indices into {@link #batchNumbers}. */
  static final int ROWS = 0, SAMPLES = 1, EPOCH = 2, INDEX = 3, LAST_OF_EPOCH = 4, COPIED = 5, COLUMNS = 6;

  private NativeData() {}

  static native long datasetFromJson(byte[] json);

  static native void freeDataset(long dataset);

  static native byte[] datasetToJson(long dataset);

  static native long datasetHash(long dataset);

  static native long datasetSize(long dataset);

  static native long datasetSamples(long dataset);

  static native long datasetClasses(long dataset);

  static native byte[] datasetClassName(long dataset, long label);

  static native byte[] referencePage();

  static native byte[] iteratorSettings();

  static native long createIterator(long dataset, byte[] settings);

  static native void freeIterator(long iterator);

  static native long nextBatch(long iterator, long milliseconds);

  static native byte[] iteratorState(long iterator);

  static native void restoreIterator(long iterator, byte[] state);

  static native void saveIterator(long iterator, byte[] path);

  static native void loadIterator(long iterator, byte[] path);

  static native long batchesPerEpoch(long iterator);

  static native byte[] iteratorStatistics(long iterator);

  static native void freeBatch(long batch);

  static native long[] batchNumbers(long batch);

  static native long[] batchRecords(long batch);

  static native byte[] columnName(long batch, int column);

  static native int columnDType(long batch, int column);

  static native long[] columnShape(long batch, int column);

  static native ByteBuffer columnBuffer(long batch, int column);

  static native byte[] batchText(long batch, byte[] name, long row);
}
