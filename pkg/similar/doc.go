// Package similar compares the tool calls that an agent made with those that
// were expected of it.
//
// # Two calls
//
// Calls of different tools have nothing in common. How alike two calls of the
// same tool are is decided argument by argument, twice:
//
//   - graded, from 0 to 1: the mean over all arguments that either call has, so
//     that an argument too many costs as much as one too few;
//   - fitting or not: every expected argument matches partially, as
//     [github.com/evalfarm/evalfarm/pkg/match.Partial] has it, and other
//     arguments do not matter.
//
// An expected call without arguments wants the tool alone: any arguments fit,
// and the grade is 1. Where an expected value holds $-matchers it has no
// grades: it is 1 if it matches and 0 if not.
//
// # Two lists of calls
//
// Compare gives the graded measures of the best alignment in order and of the
// best assignment in any order, the five yes-or-no modes, the position-wise
// score that older tools use, and the differences in words.
//
// Calls come from models and are hostile text: comparing them takes bounded
// work, and what is said of them is quoted and cut.
package similar
