package ridgeline;

import java.nio.charset.StandardCharsets;

/** A failed call with the engine's message; {@link #kind} is the kind of failure. */
public final class RidgelineException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** The statuses of the C interface that are errors. */
  public enum Kind {
    /** A wrong argument, graph or setting, or an object that is closed. */
    USAGE(3),
    /** Bad data, a missing file. */
    FAILURE(4),
    /** A bug of the engine, or out of memory. */
    INTERNAL(5),
    /** A server cannot be reached or refuses; may be temporary, the data need not be bad. */
    UNREACHABLE(6);

    private final int status;

    Kind(int status) {
      this.status = status;
    }

    private static Kind of(int status) {
      for (Kind kind : values()) {
        if (kind.status == status) return kind;
      }
      return INTERNAL;
    }
  }

  private final Kind kind;

  RidgelineException(Kind kind, String message) {
    super(message);
    this.kind = kind;
  }

  /** Called by the native libraries with a status and the message in UTF-8. */
  RidgelineException(int status, byte[] message) {
    this(Kind.of(status), new String(message, StandardCharsets.UTF_8));
  }

  public Kind kind() {
    return kind;
  }
}
