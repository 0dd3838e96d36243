import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import ridgeline.Batch;
import ridgeline.BatchIterator;
import ridgeline.Dataset;
import ridgeline.IteratorSettings;
import ridgeline.RidgelineException;

/**
 * Runs two epochs of a pipeline that {@code ridgeline dataset export-json} wrote:
 *
 * <pre>java -cp ridgeline.jar -Djava.library.path=FOLDER Batches.java PIPELINE.json</pre>
 *
 * Prints the labels of every batch.
 */
public final class Batches {
  public static void main(String[] words) throws Exception {
    if (words.length != 1) {
      System.err.println("usage: Batches PIPELINE.json");
      System.exit(2);
    }
    try (Dataset dataset = Dataset.fromJson(Files.readString(Path.of(words[0])));
        BatchIterator batches = dataset.iterate(new IteratorSettings().set("epochs", 2))) {
      for (Batch batch; (batch = batches.next()) != null; ) {
        try (Batch lent = batch) {
          System.out.printf("epoch %d batch %d: labels %s%n", lent.epoch(), lent.index(),
              Arrays.toString(lent.column("label").ints()));
        }
      }
    } catch (RidgelineException e) {
      System.err.println(e.getMessage());
      System.exit(1);
    }
  }
}
