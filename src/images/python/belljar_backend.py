"""Matplotlib backend of the Belljar Python image.

There is no display in a container, so plt.show() draws every open figure with Agg into plot_1.png, plot_2.png, ...
in the working directory, where the service picks them up, and closes it. Names in use are never overwritten.
Selected by MPLBACKEND=module://belljar_backend; a program that chooses a backend of its own is left alone.
"""

from matplotlib._pylab_helpers import Gcf
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

# A loop that never closes its figures must not search names for ever.
MAX_PLOTS = 10000


def _open_next():
    for number in range(1, MAX_PLOTS + 1):
        try:
            return open(f"plot_{number}.png", "xb")
        except FileExistsError:
            continue
    raise FileExistsError(f"plot_1.png to plot_{MAX_PLOTS}.png all exist")


class FigureManager(FigureManagerBase):
    def show(self):
        with _open_next() as out:
            self.canvas.figure.savefig(out, format="png")

    @classmethod
    def pyplot_show(cls, *, block=None):
        for manager in Gcf.get_all_fig_managers():
            manager.show()
            Gcf.destroy(manager)


class FigureCanvas(FigureCanvasAgg):
    manager_class = FigureManager
