import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The files that scripts/test_java.sh prepared, and small ones that tests write. */
final class Files {
  static Path folder;

  private Files() {}

  static String text(String name) throws IOException {
    return java.nio.file.Files.readString(folder.resolve(name));
  }

  static byte[] bytes(Path path) throws IOException {
    return java.nio.file.Files.readAllBytes(path);
  }

  /** Some images of the validation split, in the order of predictions.csv. */
  static List<Path> pictures() throws IOException {
    final List<Path> found = new ArrayList<>();
    for (String line : text("pictures.txt").split("\n")) found.add(Path.of(line));
    return found;
  }

  /** Five rows of two columns in batches of two: the labels are 0 to 4, each value is the label + 1.5. */
  static String rows() throws IOException {
    final Path csv = folder.resolve("rows.csv");
    java.nio.file.Files.writeString(csv, "image,label\n1.5,0\n2.5,1\n3.5,2\n4.5,3\n5.5,4\n");
    return pipeline(csv, "\"image:f32\",\"label:i32\"");
  }

  static String pipeline(Path csv, String columns) {
    return "{\"schema\":\"data-graph\",\"version\":1,\"seed\":0,\"outputs\":[\"batch\"],\"nodes\":["
        + "{\"id\":\"csv\",\"name\":\"csv\",\"op\":\"csv\",\"inputs\":[],\"hints\":{},\"args\":{\"file\":\"" + csv
        + "\",\"columns\":[" + columns + "]}},"
        + "{\"id\":\"batch\",\"name\":\"batch\",\"op\":\"batch\",\"inputs\":[\"csv\"],\"hints\":{},\"args\":{\"size\":2}}]}";
  }
}
