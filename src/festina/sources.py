"""The works whose claims festina checks."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """A work: the key people type, and how it is cited."""

    key: str
    short: str
    citation: str
    summarised: bool = False
    """Whether its text was not at hand, but for the abstract: what is cited stands in a summary of it."""

    def at(self, place: str) -> "Citation":
        """A place in the work: a figure, an equation, a section."""
        return Citation(self, place)

    def __str__(self) -> str:
        return self.short


@dataclass(frozen=True)
class Citation:
    """A place in a work."""

    source: Source
    place: str = ""

    def __str__(self) -> str:
        if not self.place:
            return self.source.short
        second_hand = self.source.summarised and not self.place.startswith("abstract")
        return f"{self.source.short}, {self.place}{' (in a summary)' if second_hand else ''}"


SAXE_2013 = Source(
    "saxe2013",
    "Saxe et al. 2013",
    "Saxe, McClelland & Ganguli (2013). Exact solutions to the nonlinear dynamics of learning in deep linear "
    "neural networks. ICLR 2014.",
)
SAXE_2019 = Source(
    "saxe2019",
    "Saxe et al. 2019",
    "Saxe, McClelland & Ganguli (2019). A mathematical theory of semantic development in deep neural networks. "
    "PNAS 116, 11537–11546.",
)
LECTURE = Source(
    "lecture", "Saxe, lecture", "Saxe. Models of representation learning dynamics. Lecture, Gatsby Unit, UCL."
)
BRAUN_2022 = Source(
    "braun2022",
    "Braun et al. 2022",
    "Braun, Dominé, Fitzgerald & Saxe (2022). Exact learning dynamics of deep linear networks with prior "
    "knowledge. NeurIPS.",
)
DOMINE_2025 = Source(
    "domine2025",
    "Dominé et al. 2025",
    "Dominé, Anguita, Proca, Braun, Kunin, Mediano & Saxe (2025). From lazy to rich: exact learning dynamics in "
    "deep linear networks. ICLR.",
)
ATANASOV_2021 = Source(
    "atanasov2021",
    "Atanasov et al. 2021",
    "Atanasov, Bordelon & Pehlevan (2021). Neural networks as kernel learners: the silent alignment effect. ICLR 2022.",
)
LIEBANA_2025 = Source(
    "liebana2025",
    "Liebana Garcia et al. 2025",
    "Liebana Garcia et al. (2025). Dopamine encodes deep network teaching signals for individual learning "
    "trajectories. Cell.",
)
SANDBRINK_2024 = Source(
    "sandbrink2024",
    "Sandbrink et al. 2024",
    "Sandbrink, Bauer, Proca, Saxe, Summerfield & Hummos (2024). Flexible task abstractions emerge in linear networks "
    "with fast and bounded units. NeurIPS.",
)
STEYVERS_2019 = Source(
    "steyvers2019",
    "Steyvers et al. 2019",
    "Steyvers, Hawkins, Karayanidis & Brown (2019). A large-scale analysis of task switching practice effects across "
    "the lifespan. PNAS 116, 17735–17740.",
)
SAXE_2022 = Source(
    "saxe2022",
    "Saxe et al. 2022",
    "Saxe, Sodhani & Lewallen (2022). The neural race reduction: dynamics of abstraction in gated networks. ICML.",
)
JARVIS_2025 = Source(
    "jarvis2025",
    "Jarvis et al. 2025",
    "Jarvis, Klein, Rosman & Saxe (2025). Make haste slowly: a theory of emergent structured mixed selectivity in "
    "feature learning ReLU networks. ICLR.",
    summarised=True,
)
VAN_MEEGEN_2024 = Source(
    "vanmeegen2024",
    "van Meegen & Sompolinsky 2024",
    "van Meegen & Sompolinsky (2024). Coding schemes in neural networks learning classification tasks. arXiv "
    "2406.16689.",
    summarised=True,
)
