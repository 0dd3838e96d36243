/** Runs all tests in the folder that scripts/test_java.sh prepared: java ... Main FOLDER. */
public final class Main {
  public static void main(String[] words) throws Exception {
    Files.folder = java.nio.file.Path.of(words[0]);
    int failed = 0;
    for (Class<?> tests : new Class<?>[] {DatasetTest.class, BatchTest.class, StateTest.class, ModelTest.class}) {
      failed += Check.run(tests);
    }
    System.exit(failed == 0 ? 0 : 1);
  }
}
