// Package stats holds the numbers that reports and gates rest on. Every function is
// pure, closed form or exact where it can be, and says what it means at the edges:
// with no data a point is NaN and an interval is as wide as can be, [0, 1] for a
// rate. Aggregates come to the same bits whatever the order of what they are given.
// Only [Resample] uses chance, and takes a seed. A trial without a verdict (error,
// unjudged, unfinished) never enters a number here; [Manski] says what it could
// change.
//
// One case:
//
//	how often does it pass?                     Wilson, to show; ClopperPearson, LowerBound and UpperBound, to decide
//	what do its repeats show of it?             Classify; RepeatsToConfirm says how many it takes
//	how likely is it stable?                    Posterior, Jeffreys
//	how often do two repeats disagree?          Disagreement; TARAtK of answers and trajectories; Entropy
//	flaky, or did it change?                    RunsTest
//	a bound to watch while it runs              ConfidenceSequence
//	may its repeats stop, as all is decided?    Curtail, and then Curtailed for its rate; SPRT for a requirement
//	what could missing trials change?           Manski
//
// A suite, of [Case] values made by [Passed] or [Scored]:
//
//	its rate, each case counting the same       Macro; Micro by trials, as information
//	would these cases show it again?            Repeatability
//	does it reach a bound?                      DecideRate of KornGraubard, at Repeatability's effective n
//	would other cases like these?               Generalize, also of PassAtK and Disagreement of each case
//	where do the differences come from?         Decompose
//	pass@k, pass^k, majority and G-Pass         PassAtK, PassHatK, MajorityAtK, GPassAtK, MGPassAtK; all are AtLeast
//
// Latency, cost, tokens and turns:
//
//	percentiles and their bounds                Percentile, PercentileInterval; ValuesForPercentile says when there are too few
//	of values that are counted, not kept        PercentileRank, PercentileRanks
//	as other programs define them               HyndmanFan
//	live, added up in any order                 LogBuckets
//	head over base: latency                     SignedRank of LogRatios, and Exp; GeoMeanRatio for many cases with short tails
//	head over base: cost                        RatioOfMeans
//	within tolerance?                           DecideRatio
//	repeats of one case in two arms             Shift
//	what has no formula                         Resample, never of pass rates
//
// Base and head over the same cases:
//
//	how far apart, and is it a regression?      Difference, and Decide with a margin; BonettPrice for single repeats is in it
//	did any of these cases get worse?           StratifiedTest; McNemar and Fisher are its special cases
//	which?                                      Screen, then Confirm on fresh repeats
//	suspects among many p-values                BenjaminiHochberg to look at, Holm to fail by
//	one case, with less thrown away             Boschloo
//	can a rule trigger at all at this n?        FisherFloor, FisherLimit, FisherPower, Design.MDE
//	how many repeats, or cases?                 Design.RequiredRepeats; Population.RequiredCases
//	other cases like these, as context          PairedTest, SignFlip, Adjust (CUPED)
//	look early, as planned                      WangTsiatis, and Difference at the level of each look
//	look early, unplanned                       Bet
//	allot the repeats of the next run           Neyman
//
// Judges: [Agree], [FleissKappa], [Krippendorff], [RoganGladen], [PPIMean],
// [JudgeMajority], [Condorcet], [PositionSwap], [PositionBiasSign].
//
// The vectors in testdata were computed twice, by independent programs
// (statsmodels, SciPy, R, gonum), and are the specification. Distributions are
// gonum's; everything else is here.
package stats
