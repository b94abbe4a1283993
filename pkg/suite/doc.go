// Package suite reads suite files and expands them to cells.
//
// [Load] takes a suite file, or a golden data set in JSON, together with all
// that it extends and includes, and makes one resolved [eval.Suite] of it. A
// file with mistakes gives a [*ProblemsError] that holds all of them, each with
// its place and a suggestion; nothing of such a suite runs. What is valid but
// cannot be carried out by this build is listed in [Loaded.Unsupported].
//
// [Expand] multiplies the cases by the axes that they use. [Schema] is the JSON
// Schema of suite files for editors, generated from the structs that the loader
// decodes, so that the two agree.
package suite
