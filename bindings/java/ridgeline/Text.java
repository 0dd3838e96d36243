package ridgeline;

import java.nio.charset.StandardCharsets;

/** Conversion of texts to and from the C interface, where they are UTF-8 and end at the first zero. */
final class Text {
  private Text() {}

  /** With a final zero. */
  static byte[] toC(String text, String name) {
    if (text == null) throw new RidgelineException(RidgelineException.Kind.USAGE, name + " is null");
    if (text.indexOf('\0') >= 0) {
      throw new RidgelineException(RidgelineException.Kind.USAGE, name + " holds a zero character");
    }
    return (text + '\0').getBytes(StandardCharsets.UTF_8);
  }

  static String fromC(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
