#include "ridgeline/data/set/class_names.h"

#include <algorithm>
#include <array>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"

namespace ridgeline {
namespace {

struct Set {
  std::string_view name;
  std::string_view names;  // separated by commas
};

// clang-format off
constexpr std::array<Set, 11> kSets{{
    {"cifar10",
     "airplane,automobile,bird,cat,deer,dog,frog,horse,ship,truck"},
    {"cifar100",
     "apple,aquarium_fish,baby,bear,beaver,bed,bee,beetle,bicycle,bottle,bowl,boy,bridge,bus,butterfly,camel,"
     "can,castle,caterpillar,cattle,chair,chimpanzee,clock,cloud,cockroach,couch,crab,crocodile,cup,dinosaur,"
     "dolphin,elephant,flatfish,forest,fox,girl,hamster,house,kangaroo,keyboard,lamp,lawn_mower,leopard,lion,"
     "lizard,lobster,man,maple_tree,motorcycle,mountain,mouse,mushroom,oak_tree,orange,orchid,otter,palm_tree,"
     "pear,pickup_truck,pine_tree,plain,plate,poppy,porcupine,possum,rabbit,raccoon,ray,road,rocket,rose,sea,"
     "seal,shark,shrew,skunk,skyscraper,snail,snake,spider,squirrel,streetcar,sunflower,sweet_pepper,table,"
     "tank,telephone,television,tiger,tractor,train,trout,tulip,turtle,wardrobe,whale,willow_tree,wolf,woman,"
     "worm"},
    {"cifar100_coarse",
     "aquatic_mammals,fish,flowers,food_containers,fruit_and_vegetables,household_electrical_devices,"
     "household_furniture,insects,large_carnivores,large_man-made_outdoor_things,large_natural_outdoor_scenes,"
     "large_omnivores_and_herbivores,medium_mammals,non-insect_invertebrates,people,reptiles,small_mammals,"
     "trees,vehicles_1,vehicles_2"},
    {"mnist",
     "0,1,2,3,4,5,6,7,8,9"},
    {"fashion_mnist",
     "T-shirt/top,Trouser,Pullover,Dress,Coat,Sandal,Shirt,Sneaker,Bag,Ankle boot"},
    {"kmnist",
     "o,ki,su,tsu,na,ha,ma,ya,re,wo"},
    {"emnist",
     "0,1,2,3,4,5,6,7,8,9,A,B,C,D,E,F,G,H,I,J,K,L,M,N,O,P,Q,R,S,T,U,V,W,X,Y,Z,a,b,d,e,f,g,h,n,q,r,t"},
    {"emnist_byclass",
     "0,1,2,3,4,5,6,7,8,9,A,B,C,D,E,F,G,H,I,J,K,L,M,N,O,P,Q,R,S,T,U,V,W,X,Y,Z,a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,"
     "q,r,s,t,u,v,w,x,y,z"},
    {"emnist_letters",
     "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z"},
    {"flowers102",
     "pink primrose,hard-leaved pocket orchid,canterbury bells,sweet pea,english marigold,tiger lily,"
     "moon orchid,bird of paradise,monkshood,globe thistle,snapdragon,colt's foot,king protea,spear thistle,"
     "yellow iris,globe-flower,purple coneflower,peruvian lily,balloon flower,giant white arum lily,fire lily,"
     "pincushion flower,fritillary,red ginger,grape hyacinth,corn poppy,prince of wales feathers,"
     "stemless gentian,artichoke,sweet william,carnation,garden phlox,love in the mist,mexican aster,"
     "alpine sea holly,ruby-lipped cattleya,cape flower,great masterwort,siam tulip,lenten rose,"
     "barbeton daisy,daffodil,sword lily,poinsettia,bolero deep blue,wallflower,marigold,buttercup,"
     "oxeye daisy,common dandelion,petunia,wild pansy,primula,sunflower,pelargonium,bishop of llandaff,gaura,"
     "geranium,orange dahlia,pink-yellow dahlia,cautleya spicata,japanese anemone,black-eyed susan,silverbush,"
     "californian poppy,osteospermum,spring crocus,bearded iris,windflower,tree poppy,gazania,azalea,"
     "water lily,rose,thorn apple,morning glory,passion flower,lotus,toad lily,anthurium,frangipani,clematis,"
     "hibiscus,columbine,desert-rose,tree mallow,magnolia,cyclamen,watercress,canna lily,hippeastrum,bee balm,"
     "ball moss,foxglove,bougainvillea,camellia,mallow,mexican petunia,bromelia,blanket flower,"
     "trumpet creeper,blackberry lily"},
    {"voc",
     "aeroplane,bicycle,bird,boat,bottle,bus,car,cat,chair,cow,diningtable,dog,horse,motorbike,person,"
     "pottedplant,sheep,sofa,train,tvmonitor"},
}};
// clang-format on

}  // namespace

std::vector<std::string> read_class_names(const std::string& path, std::size_t expected) {
  const std::string content = read_file(path);
  std::vector<std::string> names;
  for (std::size_t at = 0; at < content.size();) {
    const std::size_t end = std::min(content.find('\n', at), content.size());
    const std::string_view line = std::string_view(content).substr(at, end - at);
    const std::size_t last = line.find_last_not_of(" \t\r");
    if (last != std::string_view::npos) {
      const std::size_t first = line.find_first_not_of(" \t\r");
      names.emplace_back(line.substr(first, last - first + 1));
      if (names.back().find('\0') != std::string::npos) {
        throw Error("[class_names] " + path + ": the name at byte " + std::to_string(at) + " holds a NUL");
      }
    }
    at = end + 1;
  }
  if (expected != 0 && names.size() != expected) {
    throw Error("[class_names] " + path + ": " + std::to_string(names.size()) + " names, " + std::to_string(expected) +
                " are expected");
  }
  return names;
}

std::vector<std::string> known_class_names(std::string_view set) {
  std::vector<std::string> sets;
  for (const Set& row : kSets) {
    sets.emplace_back(row.name);
    if (row.name != set) continue;
    std::vector<std::string> names;
    for (std::size_t at = 0; at <= row.names.size();) {
      const std::size_t end = std::min(row.names.find(',', at), row.names.size());
      names.emplace_back(row.names.substr(at, end - at));
      at = end + 1;
    }
    return names;
  }
  throw Error("[class_names] no names of '" + std::string(set) + "' are known" + did_you_mean(set, sets));
}

}  // namespace ridgeline
