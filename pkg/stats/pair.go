package stats

// A Count is how many of some trials passed.
type Count struct{ Passed, Trials int }

// A Pair is what came of one case in two arms: the base that the question starts
// from and the head that it is about. Trials without a verdict are not in it.
type Pair struct{ Base, Head Count }

// tested says whether both arms were tried.
func (p Pair) tested() bool { return p.Base.Trials > 0 && p.Head.Trials > 0 }

// heads is how many of the head's trials passed, if trials were dealt to the arms
// by chance, with as many passes and as many trials in each as there are.
func (p Pair) heads() hypergeometric {
	return draw(p.Base.Trials+p.Head.Trials, p.Base.Passed+p.Head.Passed, p.Head.Trials)
}
