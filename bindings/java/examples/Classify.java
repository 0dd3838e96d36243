import java.nio.file.Files;
import java.nio.file.Path;
import ridgeline.Model;
import ridgeline.Predictions;
import ridgeline.RidgelineException;

/**
 * Classifies images with a model file that {@code ridgeline export} wrote:
 *
 * <pre>java -cp ridgeline.jar -Djava.library.path=FOLDER Classify.java MODEL.rdgm IMAGE...</pre>
 *
 * Prints for every image its file, the most probable class and the probability, separated by tabs.
 */
public final class Classify {
  public static void main(String[] words) throws Exception {
    if (words.length < 2) {
      System.err.println("usage: Classify MODEL.rdgm IMAGE...");
      System.exit(2);
    }
    try (Model model = Model.load(Path.of(words[0]))) {
      for (int i = 1; i < words.length; ++i) {
        final Predictions shown = model.predictEncoded(Files.readAllBytes(Path.of(words[i])));
        final int best = shown.best(0);
        System.out.printf("%s\t%d\t%s\t%.4f%n", words[i], best, model.className(best), shown.probability(0, best));
      }
    } catch (RidgelineException e) {
      System.err.println(e.getMessage());
      System.exit(1);
    }
  }
}
