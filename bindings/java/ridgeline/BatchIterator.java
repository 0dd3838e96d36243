package ridgeline;

import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/**
 * An iterator over the batches of a dataset. Order and contents of batches do not depend on the number of threads. Any
 * thread may call; calls are serialised.
 *
 * <pre>{@code
 * try (BatchIterator batches = dataset.iterate()) {
 *   for (Batch batch; (batch = batches.next()) != null; ) {
 *     try (batch) {
 *       step(batch.column("image").buffer());
 *     }
 *   }
 * }
 * }</pre>
 */
public final class BatchIterator implements AutoCloseable {
  private final Handle handle;

  BatchIterator(long handle) {
    this.handle = new Handle(handle, "iterator", NativeData::freeIterator);
  }

  /** The next batch, which the caller closes; null after the last one. A bad record is an exception when it is due. */
  public Batch next() {
    return batch(NativeData.nextBatch(handle.get(), -1));
  }

  /** The same with a timeout: an exception if no batch comes in time; the next call waits for the same batch. */
  public Batch next(Duration longest) throws TimeoutException {
    final long batch = NativeData.nextBatch(handle.get(), Math.max(0, longest.toMillis()));
    if (batch == NativeData.NO_BATCH_IN_TIME) throw new TimeoutException("no batch within " + longest);
    return batch(batch);
  }

  /** Calls {@code consumer} with every remaining batch and closes the batch afterwards. */
  public void forEachRemaining(Consumer<? super Batch> consumer) {
    for (Batch batch; (batch = next()) != null; ) {
      try (Batch lent = batch) {
        consumer.accept(lent);
      }
    }
  }

  /** The position after the batches that the caller has got, as JSON for {@link IteratorSettings#start}. */
  public String state() {
    return Text.fromC(NativeData.iteratorState(handle.get()));
  }

  /** Continues from the state; an exception if it is of another graph, seed or data. */
  public void restore(String state) {
    NativeData.restoreIterator(handle.get(), Text.toC(state, "state"));
  }

  /** Writes the state to a file, atomically. */
  public void save(Path path) {
    NativeData.saveIterator(handle.get(), Text.toC(path.toString(), "path"));
  }

  public void load(Path path) {
    NativeData.loadIterator(handle.get(), Text.toC(path.toString(), "path"));
  }

  public long batchesPerEpoch() {
    return NativeData.batchesPerEpoch(handle.get());
  }

  /** Time statistics of the run as JSON; "advice" is a text about what to change if the caller had to wait. */
  public String statistics() {
    return Text.fromC(NativeData.iteratorStatistics(handle.get()));
  }

  /** Stops the workers. Batches stay valid. */
  @Override
  public void close() {
    handle.close();
  }

  private static Batch batch(long handle) {
    return handle == NativeData.NO_FURTHER_BATCH ? null : new Batch(handle);
  }
}
