package ridgeline;

import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/**
 * A run over a dataset: batches in an order and with contents that do not depend on threads. Any thread may call; calls
 * take turns.
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

  /** The same, and an exception where no batch comes in time; the next call waits for the same batch. */
  public Batch next(Duration longest) throws TimeoutException {
    final long batch = NativeData.nextBatch(handle.get(), Math.max(0, longest.toMillis()));
    if (batch == NativeData.NO_BATCH_IN_TIME) throw new TimeoutException("no batch within " + longest);
    return batch(batch);
  }

  /** Every batch that is left, each closed after {@code consumer} has returned. */
  public void forEachRemaining(Consumer<? super Batch> consumer) {
    for (Batch batch; (batch = next()) != null; ) {
      try (Batch lent = batch) {
        consumer.accept(lent);
      }
    }
  }

  /** Where the caller stands after the batches that it got, as JSON for {@link IteratorSettings#start}. */
  public String state() {
    return Text.fromC(NativeData.iteratorState(handle.get()));
  }

  /** Goes on from there; an exception if the state belongs to another graph, seed or data. */
  public void restore(String state) {
    NativeData.restoreIterator(handle.get(), Text.toC(state, "state"));
  }

  /** The state in a file, written whole or not at all. */
  public void save(Path path) {
    NativeData.saveIterator(handle.get(), Text.toC(path.toString(), "path"));
  }

  public void load(Path path) {
    NativeData.loadIterator(handle.get(), Text.toC(path.toString(), "path"));
  }

  public long batchesPerEpoch() {
    return NativeData.batchesPerEpoch(handle.get());
  }

  /** Where the time of the run went, as JSON; "advice" says in words what to do where the caller waited. */
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
