// Package score decides the checks of an agent's trial: whether what it said,
// what it called and what it left behind is what the case wants. What only a
// judge can decide stays pending.
//
// A check looks at the trajectory and at nothing else, but for those that run a
// command or carry out a step. All that a trajectory holds is hostile text: it
// comes into messages escaped and cut, and never makes a check panic.
package score
