package ridgeline;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;

/**
 * A handle of the C interface, freed once. Handle values are never reused, so if another thread frees one during a
 * call, that call fails and does not crash.
 */
final class Handle implements AutoCloseable {
  private final AtomicLong value;
  private final String name;
  private final LongConsumer free;

  Handle(long value, String name, LongConsumer free) {
    this.value = new AtomicLong(value);
    this.name = name;
    this.free = free;
  }

  long get() {
    final long handle = value.get();
    if (handle == 0) throw new RidgelineException(RidgelineException.Kind.USAGE, "the " + name + " is closed");
    return handle;
  }

  @Override
  public void close() {
    final long handle = value.getAndSet(0);
    if (handle != 0) free.accept(handle);
  }
}
