package ridgeline;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Settings of an iterator by name: workers, epochs, seed, pull, pad_last, start, bad_samples, and others that {@link
 * #known} lists. The engine checks names and values when the iterator is created.
 */
public final class IteratorSettings {
  private final Map<String, String> values = new LinkedHashMap<>();

  /** All settings as JSON: [{"name", "help", "default"}, ...]. */
  public static String known() {
    return Text.fromC(NativeData.iteratorSettings());
  }

  public IteratorSettings set(String name, long value) {
    values.put(name, Long.toString(value));
    return this;
  }

  public IteratorSettings set(String name, boolean value) {
    values.put(name, Boolean.toString(value));
    return this;
  }

  public IteratorSettings set(String name, String value) {
    values.put(name, quoted(value));
    return this;
  }

  public IteratorSettings set(String name, List<String> value) {
    final StringBuilder list = new StringBuilder();
    for (String text : value) list.append(list.length() == 0 ? "" : ",").append(quoted(text));
    values.put(name, "[" + list + "]");
    return this;
  }

  /** Resumes from a {@link BatchIterator#state}. */
  public IteratorSettings start(String state) {
    return set("start", state);
  }

  String toJson() {
    final StringBuilder json = new StringBuilder();
    values.forEach((name, value) -> {
      json.append(json.length() == 0 ? "" : ",").append(quoted(name)).append(':').append(value);
    });
    return "{" + json + "}";
  }

  private static String quoted(String text) {
    final StringBuilder json = new StringBuilder("\"");
    for (char c : text.toCharArray()) {
      if (c == '"' || c == '\\') {
        json.append('\\').append(c);
      } else if (c < ' ') {
        json.append(String.format("\\u%04x", (int) c));
      } else {
        json.append(c);
      }
    }
    return json.append('"').toString();
  }
}
