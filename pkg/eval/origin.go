package eval

// An Origin says where the results of a run come from that was carried out
// elsewhere and imported.
type Origin struct {
	// Format of the file: "jsonl".
	Format string `json:"format"`
	// File is its name, without the folder; "-" is standard input.
	File string `json:"file"`
	// SHA256 of what was read, in hex; of a compressed file it is that of the plain
	// text.
	SHA256 string `json:"sha256"`
	// Map says which field of the file each of ours was read from, where the names
	// differ; empty for one that was not read.
	Map map[string]string `json:"map,omitempty"`
}
