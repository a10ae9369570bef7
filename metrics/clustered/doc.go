// Package clustered finds how uncertain metrics are where rows come in clusters: frames of a video, answers to a prompt, visits of a
// patient. Rows of one cluster depend on each other, clusters do not.
//
// Sums is a metrics.Accumulator. It keeps, for each cluster by its name, the sums of losses of its rows, and how many rows it has at each
// score of a grid. So a cluster may be divided over files, and states merge exactly. The standard error of a mean d over G clusters is that
// of a ratio of sums,
//
//	V = G/(G-1) sum_g (T_g - n_g d)^2 / n^2,   T_g = sum w loss and n_g = sum w over the rows of cluster g,
//
// and Student's distribution with G - 1 degrees of freedom gives its interval (Cochran 1977; Liang and Zeger 1986).
package clustered
