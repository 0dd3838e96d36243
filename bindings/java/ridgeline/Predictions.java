package ridgeline;

import java.util.Arrays;

/** The probability and the logit of every class for some images. */
public final class Predictions {
  final float[] probabilities;
  final float[] logits;
  private final int rows;
  private final int classes;

  Predictions(long rows, int classes) {
    if (rows > Integer.MAX_VALUE / Math.max(1, classes)) {
      throw new RidgelineException(RidgelineException.Kind.USAGE, rows + " images are too many for one call");
    }
    this.rows = (int) rows;
    this.classes = classes;
    probabilities = new float[this.rows * classes];
    logits = new float[this.rows * classes];
  }

  /** The number of images. */
  public int rows() {
    return rows;
  }

  public int classes() {
    return classes;
  }

  public float probability(int row, int label) {
    return probabilities[at(row, label)];
  }

  public float logit(int row, int label) {
    return logits[at(row, label)];
  }

  /** The probabilities of one image, in the order of the classes. */
  public float[] probabilities(int row) {
    return Arrays.copyOfRange(probabilities, at(row, 0), at(row, 0) + classes);
  }

  public float[] logits(int row) {
    return Arrays.copyOfRange(logits, at(row, 0), at(row, 0) + classes);
  }

  /** The most probable class of an image; on a tie the first. */
  public int best(int row) {
    int best = 0;
    for (int label = 1; label < classes; ++label) {
      if (probability(row, label) > probability(row, best)) best = label;
    }
    return best;
  }

  private int at(int row, int label) {
    if (row < 0 || row >= rows || label < 0 || label >= classes) {
      throw new IndexOutOfBoundsException(
          "image " + row + ", class " + label + " of " + rows + " images and " + classes + " classes");
    }
    return row * classes + label;
  }
}
