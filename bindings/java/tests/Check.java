import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Objects;
import ridgeline.RidgelineException;

/** Checks of the tests, and their runner: every static method without arguments of a class is a test. */
final class Check {
  private Check() {}

  interface Body {
    void run() throws Exception;
  }

  static void that(boolean holds, String what) {
    if (!holds) throw new AssertionError(what);
  }

  static void same(Object expected, Object found) {
    if (!Objects.deepEquals(expected, found)) {
      throw new AssertionError("expected " + text(expected) + ", found " + text(found));
    }
  }

  /** Checks that {@code body} throws an exception of this kind whose message contains all of {@code words}. */
  static void refused(RidgelineException.Kind kind, Body body, String... words) throws Exception {
    try {
      body.run();
    } catch (RidgelineException e) {
      same(kind, e.kind());
      for (String word : words) that(e.getMessage().contains(word), "'" + word + "' is not in: " + e.getMessage());
      return;
    }
    throw new AssertionError("nothing was thrown");
  }

  /** Runs the tests of a class; returns how many failed. */
  static int run(Class<?> tests) throws IllegalAccessException {
    int failed = 0, passed = 0;
    final Method[] methods = tests.getDeclaredMethods();
    Arrays.sort(methods, Comparator.comparing(Method::getName));
    for (Method test : methods) {
      if (Modifier.isPrivate(test.getModifiers()) || test.getParameterCount() > 0 || test.isSynthetic()) continue;
      try {
        test.invoke(null);
        ++passed;
      } catch (InvocationTargetException e) {
        ++failed;
        System.err.println("FAILED " + tests.getSimpleName() + "." + test.getName());
        e.getCause().printStackTrace();
      }
    }
    if (passed + failed == 0) throw new AssertionError(tests.getSimpleName() + " has no tests");
    System.out.println(tests.getSimpleName() + ": " + passed + " passed, " + failed + " failed");
    return failed;
  }

  private static String text(Object value) {
    final String all = Arrays.deepToString(new Object[] {value});
    return all.substring(1, all.length() - 1);
  }
}
