"""Sound as float32 ``(N, S)``, waveforms in [-1, 1]: mutators."""

from asterism.sound.mutator import SOUND_MUTATORS, SoundMutator, Waves, build_sound_mutators

__all__ = ["SOUND_MUTATORS", "SoundMutator", "Waves", "build_sound_mutators"]
