// Package strictyaml reads YAML and JSON files that people write by hand, and
// tells them everything that is wrong at once, with the place, the source line
// and a suggestion.
//
// [Parse] makes a tree of [Node] values that know where they were written;
// [Decode] fills Go structs from such a tree by their yaml tags. Neither stops
// at the first mistake: a [Problem] is a value, and a file can have many.
//
// It is stricter than YAML. Unknown and duplicate keys, several documents, tags
// and values that two versions of YAML read differently (0123, 1_000) are
// errors. Size, depth and the growth by aliases are bounded. Numbers keep their
// digits, so that big integers and decimals come out as they were written.
package strictyaml
